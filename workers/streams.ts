import type { Client } from '@temporalio/client';
import type { SinkKind } from '../domain/evidence/egress/sinks.js';
import { configureStream, EGRESS, type Stream, type StreamSettings } from '../workflows/egress/messages.js';

/** The workflow id of a sink's stream, unique in a namespace. */
export const streamIdOf = (sink: SinkKind): string => `egress/${sink}`;

/** Starts the streams that are not running and sends the others these settings. Safe to repeat at every start. */
export async function ensureStreams(
  client: Client,
  { taskQueue, sinks, settings }: { taskQueue: string; sinks: readonly SinkKind[]; settings: StreamSettings },
): Promise<void> {
  for (const sink of sinks)
    await client.workflow.signalWithStart(EGRESS, {
      workflowId: streamIdOf(sink),
      taskQueue,
      args: [{ sink, settings } satisfies Stream],
      signal: configureStream,
      signalArgs: [settings],
    });
}
