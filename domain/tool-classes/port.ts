import type { ToolClassFact } from '../../contracts/policy.js';

/** The operators' classes of the tools behind Gate. */
export interface ToolClasses {
  /** The name under which the tools are classed. */
  readonly upstream: string;
  /**
   * The operators' classes of these tools, as they apply to the agent. Unclassed tools are left out. If the classes cannot be read, every
   * tool asked for is suspended. Never throws.
   */
  of(tenant: string, agent: string, tools: readonly string[]): Promise<Record<string, ToolClassFact>>;
}

/** For tools that operators cannot class; the shipped data still applies. */
export const noToolClasses = (upstream: string): ToolClasses => ({ upstream, of: () => Promise.resolve({}) });
