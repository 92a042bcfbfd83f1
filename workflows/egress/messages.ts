import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { StreamProgress } from '../../domain/evidence/egress/progress.js';
import type { SinkKind } from '../../domain/evidence/egress/sinks.js';

/** The workflow's type. Under another name the streams that run would find no code to go on with. */
export const EGRESS = 'egress';

/** The operator's settings; those of the worker that started last hold. */
export interface StreamSettings {
  readonly interval_ms: number;
  readonly batch_size: number;
}

export interface Stream {
  readonly sink: SinkKind;
  readonly settings: StreamSettings;
  /** Absent: from the first entry on. */
  readonly progress?: StreamProgress;
  /** Attempts in one run; then the next run goes on with a history of its own. */
  readonly attempts_per_run?: number;
}

/** Hands over new settings and makes the stream look at once. */
export const configureStream = defineSignal<[StreamSettings]>('configure');
export const streamProgress = defineQuery<StreamProgress>('progress');
