import type { Inspector } from '../../domain/inspection/port.js';
import type { ResponseScanner } from '../../domain/responses/port.js';

/** What other services use Brain through. */
export type BrainPort = Inspector & ResponseScanner;
