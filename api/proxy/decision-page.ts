import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.js';
import type { CallRecord } from '../../domain/call/record.js';

/** Where it is decided about a call, if it waits and people can open that; and what the request to open it belongs to. */
export interface DecisionPage {
  readonly urlOf: (correlationId: string) => Promise<string | null>;
  readonly about?: JsonObject;
}

/** The page of a review below the address of a console; `undefined` where nobody can open one, or nothing waits. */
export const decisionPage = (
  console: string | undefined,
  { state, pending_id }: Pick<CallRecord, 'state' | 'pending_id'>,
): string | undefined =>
  console === undefined || state !== 'parked' || pending_id === null
    ? undefined
    : `${console.replace(/\/$/, '')}/hil/${pending_id}`;

/**
 * Asks the client to open that page for its user (MCP 2025-11-25, elicitation in URL mode); `null` where there is none. It gives nobody a right:
 * the page asks who he is, and who may not decide, or asked for the call himself, only sees it there. So what the client answers is not
 * waited for, and changes nothing.
 */
export async function askToOpen({ urlOf, about }: DecisionPage, correlationId: string): Promise<string | null> {
  const url = await urlOf(correlationId).catch(() => null);
  if (url === null) return null;
  return JSON.stringify({
    jsonrpc: '2.0',
    id: `gate-${randomUUID()}`,
    method: 'elicitation/create',
    params: { ...openParams(url), elicitationId: correlationId, ...(about && { _meta: about }) },
  });
}

const openParams = (url: string): JsonObject => ({
  mode: 'url',
  url,
  message:
    'This call waits for a person. The page shows it to whoever may see it; it is decided there by an approver who did not ask for it.',
});

/** The same as one of the questions that end a request (MCP 2026-07-28). */
export const openRequest = (url: string): JsonObject => ({ method: 'elicitation/create', params: openParams(url) });

/** Tells the client that the page has nothing to decide any more. */
export const openedText = (correlationId: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId: correlationId },
  });
