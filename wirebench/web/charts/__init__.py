"""The pages' charts: where each mark goes. Templates draw them, with text as text and the look's own colours."""
