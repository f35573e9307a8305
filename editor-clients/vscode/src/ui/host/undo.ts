// Going back to an earlier message: what would change is shown first, and nothing happens before it is agreed to.
import * as vscode from 'vscode';
import type { UndoPreview } from '../../rpc/agent.ts';
import { failureOf } from '../../rpc/failure.ts';
import type { Thread } from '../../session/thread.ts';
import type { App } from './app.ts';

const GOES: Record<string, string> = { restore: 'goes back', delete: 'is deleted', create: 'is made again' };

export async function askUndo(app: App, thread: Thread, itemId: string): Promise<void> {
  try {
    const item = thread.transcript.items.find((one) => one.id === itemId);
    const preview = await thread.undoPreview(itemId);
    if (!preview || item?.kind !== 'user') return;
    const detail = inWords(preview);
    if (preview.conflicts.length > 0) {
      await vscode.window.showWarningMessage('This cannot be undone as it is.', { modal: true, detail });
      return;
    }
    const count = preview.messages.length;
    const words = count === 1 ? 'Go back to before this message?' : `Go back to before these ${count} messages?`;
    if ((await vscode.window.showWarningMessage(words, { modal: true, detail }, 'Go back')) !== 'Go back') return;
    const { text, pictures } = item;
    const done = await thread.undo(itemId);
    if (done?.error) await vscode.window.showErrorMessage(`acp-server: ${done.error}`);
    else app.view.post({ type: 'draft', draft: { id: itemId, text, pictures, mentions: [] } });
  } catch (thrown) {
    await vscode.window.showErrorMessage(`acp-server: ${failureOf(thrown).message}`);
  }
}

/** Returns the preview as lines: messages, files, what stands in the way, what stays. */
function inWords(preview: UndoPreview): string {
  const lines = preview.messages.map(({ text }) => `“${text.length > 70 ? `${text.slice(0, 69)}…` : text}”`);
  const short = (path: string): string => vscode.workspace.asRelativePath(path);
  lines.push(...preview.files.map(({ path, change }) => `${short(path)} ${GOES[change] ?? change}`));
  lines.push(...preview.conflicts.map(({ path, reason }) => `${short(path)}: ${reason}`));
  const others = (preview.notUndone ?? []).map(({ tool, calls }) => `${calls} × ${tool}`);
  if (others.length > 0) lines.push(`Not undone: what these calls changed (${others.join(', ')}).`);
  return lines.join('\n');
}
