"""The extension in the editor itself: code-server with the packaged extension, in Chromium without a screen."""
