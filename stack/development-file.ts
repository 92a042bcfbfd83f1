import type { Found } from '../activities/detected-upstream.js';
import type { Mode } from '../contracts/call.js';
import type { SIGN_IN_MODES } from '../config/console-sign-in.js';
import type { ServiceKey } from './services.js';

interface Address {
  readonly url: string;
}

/** Every service that listens, by its key. */
export type ServiceAddresses = Readonly<Record<ServiceKey, Address>>;

/** What scripts, tests and the command line read of a running stack: `.gate/dev.json`. Certificate fields are file paths. */
export interface DevelopmentFile extends ServiceAddresses {
  /** Absent when another container runs the engine. */
  readonly mode?: Mode;
  readonly proxy: Address & {
    readonly ca: string;
    readonly cert: string;
    readonly key: string;
    readonly agent_spiffe: string;
  };
  /** `opened_at`: where browsers open it, as the settings say; `sign_in`: how people sign in. Absent in what an older Gate wrote. */
  readonly console: Address & { readonly opened_at?: string; readonly sign_in?: (typeof SIGN_IN_MODES)[number] };
  /** Who signs access tokens here (`gate token`); absent where the settings name an issuer. `key` is a file path. */
  readonly token_issuer?: {
    readonly issuer: string;
    readonly audience: string;
    readonly key: string;
    readonly key_id: string;
  };
  readonly console_workload: { readonly cert: string; readonly key: string };
  readonly operator_token: string;
  /** Tokens of further operators, by name (`gate decide --as`). */
  readonly other_operators?: Readonly<Record<string, string>>;
  readonly temporal: {
    readonly address: string;
    readonly namespace: string;
    /** The engine's own pages, which show payloads sealed. */
    readonly ui_url: string | null;
    /** The same in clear text, behind the operator's token. */
    readonly pages_url: string | null;
  };
  /** `demonstration`: the tools are Gate's own, not those of `GATE_UPSTREAM_URL`. */
  readonly upstream: { readonly url: string; readonly demonstration: boolean };
  readonly health: Readonly<Record<string, string>>;
  readonly agents: Readonly<Record<string, { readonly cert: string; readonly key: string; readonly spiffe: string }>>;
}

export interface Stack {
  readonly development: DevelopmentFile;
  /** What answered at the address of the operator's own tools while this stack started; `null` when the tools are Gate's own. */
  readonly toolsFound: Found | null;
  /** Whether somebody decides with the token of the file, with which commands ask. Whose own `GATE_HIL_OPERATORS` leave it out is not heard. */
  readonly isOperatorKnown: boolean;
  /** Resolves when the stack has stopped; rejects when a part of it failed. */
  readonly stopped: Promise<void>;
  /** Ordered: the proxy refuses, answers drain, the worker finishes, services close, the engine ends last. Limited in time. */
  stop(): Promise<void>;
  /** Ends what this stack started, without waiting for any call. */
  stopNow(): Promise<void>;
}
