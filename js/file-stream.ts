import { interruptedBy, onAbort, throwIfAborted } from "./abort.js";
import type { Batches } from "./core/sandpipe.js";
import type { AbortSignal, ByteStream } from "./platform.js";
import { settle } from "./settle.js";

/**
 * The bytes of a file as a stream of the web. Nothing is read ahead: the core is asked for the next chunk when the one before
 * has been taken.
 */
export function fileStream(
  open: () => Batches<Uint8Array>,
  signal: AbortSignal | undefined,
): ByteStream {
  let batches: Batches<Uint8Array> | undefined;
  let endListening = (): void => undefined;
  const end = (): void => {
    endListening();
    batches?.close();
  };
  const next = async (): Promise<Uint8Array | undefined> => {
    throwIfAborted(signal);
    batches ??= open();
    const [chunk] = (await batches.next()) ?? [];
    throwIfAborted(signal);
    return chunk;
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        endListening = onAbort(signal, () => {
          end();
          controller.error(interruptedBy(signal));
        });
      },
      async pull(controller) {
        let chunk;
        try {
          chunk = await settle(next());
        } catch (error) {
          end();
          throw error;
        }
        if (chunk !== undefined) {
          controller.enqueue(chunk);
          return;
        }
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  // Of the overloads of its `getReader`, TypeScript compares the first alone.
  return stream as unknown as ByteStream;
}
