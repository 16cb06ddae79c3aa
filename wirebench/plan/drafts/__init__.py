"""Drafts of application files, from protos, reflection and OpenAPI documents."""
