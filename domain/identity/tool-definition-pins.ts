import type { KeptToolDefinitions, ToolDefinitionReport } from '../../contracts/tool-definition-pins.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { agentOfSpiffe } from './spiffe.js';

export interface ToolDefinitionStore {
  /** Keeps it as what was reported last of its agent; of one that is pinned for the first time, or anew, with its row for the ledger. The same again changes nothing. */
  keepToolDefinitions(report: ToolDefinitionReport, nowMs: number): Promise<{ readonly id: string }>;
}

/** What names a set of definitions: the digests of their tools, by name. */
export const snapshotOf = (tools: ReadonlyMap<string, string>): string =>
  `sha256:${sha256Hex(canonicalJson(Object.fromEntries(tools)))}`;

/** Throws `binding_mismatch` and `snapshot_mismatch` where a report does not hold together. */
export function assertConsistent(report: ToolDefinitionReport, trustDomain: string): void {
  const { tenant, agent_id: agent, agent_spiffe: spiffe, tools, snapshot_sha256: snapshot } = report;
  const named = spiffe === undefined ? null : agentOfSpiffe(spiffe, trustDomain);
  if (spiffe !== undefined && (named?.tenant !== tenant || named.agent !== agent))
    throw new GateError('binding_mismatch', 'agent_spiffe: is not the id of this agent');
  const digests = new Map(tools.map((tool) => [tool.name, tool.definition_sha256]));
  if (snapshotOf(digests) !== snapshot) throw new GateError('snapshot_mismatch');
}

export const answerOf = (
  { event, snapshot_sha256 }: ToolDefinitionReport,
  { id }: { readonly id: string },
): KeptToolDefinitions => ({ id, snapshot_sha256, event_kind: `tool_definition.${event}` });
