import { keptToolDefinitions, toolDefinitionReport } from '../../../contracts/tool-definition-pins.js';
import { answerOf, assertConsistent, type ToolDefinitionStore } from '../../../domain/identity/tool-definition-pins.js';
import type { ServiceApp } from '../../plugins/app.js';

export interface ToolDefinitionParts {
  readonly store: ToolDefinitionStore;
  readonly trustDomain: string;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onPinned: () => void;
}

/** What agents see of their tools, as proxies report it (docs/architecture/identity.md#tool-definitions). */
export function toolDefinitionRoutes(
  app: ServiceApp,
  { store, trustDomain, clock, onPinned }: ToolDefinitionParts,
): void {
  app.post(
    '/tool-definitions/pin',
    { schema: { body: toolDefinitionReport, response: { 200: keptToolDefinitions } } },
    async ({ body }) => {
      assertConsistent(body, trustDomain);
      const kept = await store.keepToolDefinitions(body, clock());
      onPinned();
      return answerOf(body, kept);
    },
  );
}
