/** As much of it as the tests use: the package has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  interface Context {
    readonly oidc: {
      readonly provider: Provider;
      readonly client: { readonly clientId: string };
      readonly session: { readonly accountId: string };
    };
  }
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    readonly Grant: new (of: {
      readonly clientId: string;
      readonly accountId: string;
    }) => Grant;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
  export type { Context };
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  /** `tolerance` in seconds. */
  export function createMemoryAdapter(tolerance: number): new (name: string) => object;
}
