"""The report's charts, one module a kind. Text in them is text, and their colours are the page's, light or dark."""
