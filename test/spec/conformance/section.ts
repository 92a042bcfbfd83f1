import type { Server } from 'node:http';
import type { AgentClient } from '../../support/agent.js';
import type { Edition } from '../../support/editions.js';

/** Tools that a section tells what to list or answer. */
export interface SectionTools {
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

/** What the cases of a section are tried on; filled in before they run, and anew after a restart. */
export interface Subject<Tools extends SectionTools = SectionTools> {
  gate: Edition;
  tools: Tools;
  bot: AgentClient;
  /** The name that rows have for the agent. */
  agentId: string;
}

/** How an edition is started, one after the other over the same stores. */
export const STARTS = [
  { how: 'plain', settings: { EGRESS_SCAN_TOOLS: 'get_customer' }, blocks: false },
  { how: 'blocking', settings: {}, blocks: true },
  { how: 'observing', settings: { EGRESS_MODE: 'observe' }, blocks: false },
] as const;
export type How = (typeof STARTS)[number]['how'];

/** Cases of one subject, with an agent and tools of their own, by the start that they need. */
export interface Section {
  readonly name: string;
  readonly agent: string;
  readonly tools: () => Promise<SectionTools>;
  readonly cases: Partial<Record<How, (at: Subject) => void>>;
}

/** A section whose cases know their tools by type. */
export function section<Tools extends SectionTools>(
  name: string,
  agent: string,
  tools: () => Promise<Tools>,
  cases: Partial<Record<How, (at: Subject<Tools>) => void>>,
): Section {
  return { name, agent, tools, cases: cases as Section['cases'] };
}
