// The extension's end of the page: messages out, and what the page keeps over being hidden.
import type { FromPage } from '../shared/messages.ts';

interface VsCode {
  postMessage(message: FromPage): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): VsCode;

const api = acquireVsCodeApi();

export function post(message: FromPage): void {
  api.postMessage(message);
}

export interface Kept {
  readonly text: string;
}

export function kept(): Kept {
  const state = api.getState() as Kept | undefined;
  return { text: state?.text ?? '' };
}

export function keep(state: Kept): void {
  api.setState(state);
}
