import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';
import { scanDefinitions } from '../../domain/tool-definitions/scan-definitions.js';
import { scanToolName } from '../../domain/tool-definitions/tool-names.js';

/** Brain's rules in this process. */
export const rulesScanner: DefinitionScanner = {
  scanDefinitions: async (request) => scanDefinitions(request),
  scanToolName: async (request) => scanToolName(request),
};
