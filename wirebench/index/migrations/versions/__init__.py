"""The steps, one file each; a step that was released is never changed."""
