import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Plugin } from 'esbuild';

/** What the engine's core gives a thread of workflows, and what it gets back. */
const SPOKEN = [
  'coresdk.workflow_activation.WorkflowActivation',
  'coresdk.workflow_completion.WorkflowActivationCompletion',
] as const;

const engineWorker = createRequire(createRequire(import.meta.url).resolve('@temporalio/worker'));
const coreBridge = createRequire(engineWorker.resolve('@temporalio/core-bridge'));
const grpc = dirname(coreBridge.resolve('@grpc/grpc-js'));
/** They look for files beside themselves. */
const WHERE_THEY_LIE = new Set([coreBridge.resolve('./common.js'), engineWorker.resolve('source-map')]);

/**
 * A thread that runs workflow code needs little of the engine's packages: of 1,184 messages those that travel between it and the core, and of
 * gRPC one class. Reading all of it is most of what such a thread costs, and each process of Gate has two.
 */
export const leanEngine = (output: string): Plugin => ({
  name: 'lean-engine',
  setup({ onLoad, onResolve, resolve }) {
    onResolve({ filter: /^@grpc\/grpc-js$/ }, () => ({ path: join(grpc, 'metadata.js') }));
    onResolve({ filter: /^(?:\.\/common|source-map)$/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (pluginData === 'lean-engine') return undefined;
      const found = await resolve(path, { kind, resolveDir, pluginData: 'lean-engine' });
      if (!WHERE_THEY_LIE.has(found.path)) return found;
      return { path: relative(output, found.path).replaceAll(sep, '/'), external: true };
    });
    onLoad({ filter: /@temporalio[/\\]proto[/\\]protos[/\\]json-module\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const [begin, end] = [text.indexOf('.addJSON(') + '.addJSON('.length, text.lastIndexOf(');')];
      const nested = JSON.parse(text.slice(begin, end)) as Record<string, Described>;
      const spoken = only(spokenIn(createRequire(path)(path) as Root), '', { nested });
      return { contents: `${text.slice(0, begin)}${JSON.stringify(spoken.nested)}${text.slice(end)}` };
    });
  },
});

/** The part of protobuf.js's own types that is read here. */
interface Message {
  readonly fullName: string;
  /** An enumeration has none. */
  readonly fieldsArray?: readonly { resolve(): { readonly resolvedType: Message | null } }[];
}
interface Root {
  lookupType(name: string): Message;
}

/** A namespace, message or enumeration as protobuf.js is given it. */
interface Described {
  readonly nested?: Readonly<Record<string, Described>>;
}

/** The full names of all messages and enumerations that can be part of one that is spoken. */
function spokenIn(root: Root): ReadonlySet<string> {
  const names = new Set<string>();
  const add = ({ fullName, fieldsArray = [] }: Message) => {
    if (names.has(fullName)) return;
    names.add(fullName);
    for (const field of fieldsArray) {
      const { resolvedType } = field.resolve();
      if (resolvedType) add(resolvedType);
    }
  };
  for (const name of SPOKEN) add(root.lookupType(name));
  return names;
}

/** Of what stands in a namespace or message, that which has one of the names, and where that stands in. */
function only(names: ReadonlySet<string>, at: string, { nested, ...own }: Described): Described {
  const kept = Object.entries(nested ?? {}).flatMap(([name, described]): [string, Described][] => {
    const inside = only(names, `${at}.${name}`, described);
    return names.has(`${at}.${name}`) || inside.nested ? [[name, inside]] : [];
  });
  return kept.length > 0 ? { ...own, nested: Object.fromEntries(kept) } : own;
}
