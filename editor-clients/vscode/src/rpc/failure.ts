// What the agent refuses, as a value with words for a person. The one place that knows the protocol's error codes.

export interface AuthMethod {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Whether a terminal has to be opened for it. */
  readonly terminal: boolean;
}

const AUTH_REQUIRED = -32000;
const NOT_FOUND = -32002;
const INVALID_REQUEST = -32600;

export class Failure extends Error {
  readonly code: number;

  constructor(code: number, words: string) {
    super(words);
    this.name = 'Failure';
    this.code = code;
  }

  get needsAuth(): boolean {
    return this.code === AUTH_REQUIRED;
  }

  get notFound(): boolean {
    return this.code === NOT_FOUND;
  }

  get wrongMoment(): boolean {
    return this.code === INVALID_REQUEST;
  }
}

/** Returns any thrown thing as a failure: the agent's own details when there are some, else its message. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (typeof thrown !== 'object' || thrown === null) return new Failure(0, String(thrown));
  const { code, message, data } = thrown as { code?: unknown; message?: unknown; data?: { details?: unknown } };
  const details = typeof data?.details === 'string' ? data.details : undefined;
  return new Failure(typeof code === 'number' ? code : 0, details ?? (String(message ?? '') || 'The server gave no reason.'));
}
