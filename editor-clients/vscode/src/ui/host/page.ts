// The page of the chat view: one script and one sheet of our own, and nothing from anywhere else.
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

export function page(webview: vscode.Webview, root: vscode.Uri): string {
  const nonce = randomBytes(18).toString('base64');
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(root, 'dist', name)).toString();
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    'img-src data: blob:',
    `font-src ${webview.cspSource}`,
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>acp-server</title>
<link rel="stylesheet" href="${file('style.css')}">
</head>
<body>
<div id="app"></div>
<script nonce="${nonce}" src="${file('chat.js')}"></script>
</body>
</html>`;
}
