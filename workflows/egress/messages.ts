import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { StreamProgress } from '../../domain/evidence/egress/progress.js';
import type { SinkKind } from '../../domain/evidence/egress/sinks.js';

/** The workflow's type. Under another name, running streams would find no code to continue with. */
export const EGRESS = 'egress';

/** The operator's settings; those of the worker that started last apply. */
export interface StreamSettings {
  readonly interval_ms: number;
  readonly batch_size: number;
}

export interface Stream {
  readonly sink: SinkKind;
  readonly settings: StreamSettings;
  /** Absent: from the first entry on. */
  readonly progress?: StreamProgress;
  /** Attempts in one run; after that it continues as a new run. */
  readonly attempts_per_run?: number;
}

/** Delivers new settings and makes the stream look for rows at once. */
export const configureStream = defineSignal<[StreamSettings]>('configure');
export const streamProgress = defineQuery<StreamProgress>('progress');
