import type { Inspector } from '../../domain/inspection/port.js';
import type { Narrator } from '../../domain/models/narrator.js';
import type { RequestScanner, ResponseScanner } from '../../domain/inspection/response-port.js';
import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';

/** What other services use Brain through. */
export type BrainPort = Inspector & ResponseScanner & RequestScanner & DefinitionScanner & Narrator;
