import type { paths as BrainPaths } from './generated/brain.js';
import type { paths as HilPaths } from './generated/hil.js';
import type { paths as IdentityPaths } from './generated/identity.js';
import type { paths as LedgerPaths } from './generated/ledger.js';
import type { paths as PolicyEnginePaths } from './generated/policy-engine.js';
import type { paths as ProxyPaths } from './generated/proxy.js';

/** The services by their names, with all that each of them can be asked. */
export interface Services {
  brain: BrainPaths;
  hil: HilPaths;
  identity: IdentityPaths;
  ledger: LedgerPaths;
  'policy-engine': PolicyEnginePaths;
  proxy: ProxyPaths;
}
export type ServiceName = keyof Services;

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of a service that know this method. */
export type PathWith<Paths, M extends Method> = {
  [Path in keyof Paths]: Paths[Path] extends { readonly [Each in M]: { responses: unknown } } ? Path : never;
}[keyof Paths] &
  string;

export type OperationAt<Paths, M extends Method, Path extends keyof Paths> = Paths[Path] extends {
  readonly [Each in M]: infer Operation;
}
  ? Operation
  : never;

type Parameters<Operation, Where extends string> = Operation extends {
  parameters: { readonly [Each in Where]?: infer Given };
}
  ? NonNullable<Given>
  : never;

export type BodyOf<Operation> = Operation extends { requestBody?: infer Given }
  ? NonNullable<Given> extends { content: { 'application/json': infer Body } }
    ? Body
    : never
  : never;

/** A member that has to be given, may be left out, or does not exist. */
type Member<Name extends string, Type> = [Type] extends [never]
  ? { readonly [Each in Name]?: never }
  : Record<never, never> extends Type
    ? { readonly [Each in Name]?: Type }
    : { readonly [Each in Name]: Type };

export interface RequestOptions {
  /** For one attempt, its answer included: 1 to 600,000 ms. Default: that of the client. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Given<Operation> = RequestOptions &
  Member<'path', Parameters<Operation, 'path'>> &
  Member<'query', Parameters<Operation, 'query'>> &
  Member<'body', BodyOf<Operation>>;

/** Nothing has to be given where an operation needs nothing. */
export type Args<Operation> =
  Record<never, never> extends Given<Operation> ? [given?: Given<Operation>] : [given: Given<Operation>];

type Contents<Operation> = Operation extends { responses: infer Answers }
  ? { [Status in keyof Answers & (200 | 201 | 202 | 204)]: Answers[Status] }[keyof Answers & (200 | 201 | 202 | 204)]
  : never;

type Json<Answer> = Answer extends { content: { 'application/json': infer Body } }
  ? Body
  : Answer extends { content?: never }
    ? undefined
    : never;

/** What an operation answers where it does what it was asked; `undefined` for one that answers with nothing. */
export type AnswerOf<Operation> = [Json<Contents<Operation>>] extends [never] ? unknown : Json<Contents<Operation>>;

/** The paths that answer this method with one of these kinds of content. */
export type PathOfKind<Paths, M extends Method, Kind extends string> = {
  [Path in keyof Paths]: OperationAt<Paths, M, Path> extends { responses: { 200: { content: infer Content } } }
    ? Kind & keyof Content extends never
      ? never
      : Path
    : never;
}[keyof Paths] &
  string;
