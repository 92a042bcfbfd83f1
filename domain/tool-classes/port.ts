import type { ToolClassFact } from '../../contracts/policy.js';

/** What operators said of the tools behind Gate. */
export interface ToolClasses {
  /** The name under which the tools are classed. */
  readonly upstream: string;
  /**
   * The operator's classes of these tools, as the agent sees them; a tool that nobody classed is not in it. What cannot be read is
   * suspended for every tool that was asked for, never left out. Does not throw.
   */
  of(tenant: string, agent: string, tools: readonly string[]): Promise<Record<string, ToolClassFact>>;
}

/** Tools of which no operator can say anything; the shipped data still may. */
export const noToolClasses = (upstream: string): ToolClasses => ({ upstream, of: () => Promise.resolve({}) });
