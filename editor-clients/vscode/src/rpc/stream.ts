// The protocol's lines over a process's pipes, with a tap for whoever wants to read the wire.
import * as acp from '@agentclientprotocol/sdk';

export type Tap = (direction: 'sent' | 'received', line: string) => void;

/** Returns the stream that the SDK reads and writes. The tap, where there is one, sees each chunk as text. */
export function wire(input: WritableStream<Uint8Array>, output: ReadableStream<Uint8Array>, tap?: Tap): acp.Stream {
  if (!tap) return acp.ndJsonStream(input, output);
  const sent = through('sent', tap);
  void sent.readable.pipeTo(input).catch(() => undefined);
  return acp.ndJsonStream(sent.writable, output.pipeThrough(through('received', tap)));
}

function through(direction: 'sent' | 'received', tap: Tap): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      tap(direction, decoder.decode(chunk, { stream: true }));
      controller.enqueue(chunk);
    },
  });
}
