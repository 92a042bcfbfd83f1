import { link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GateConfigError } from '../errors.js';
import type { SignedAuthorization } from './authorization.js';

/** What is about to be asked: kept before the network, so that a restart asks about the same call. */
export interface PreparedCall {
  readonly idempotencyId: string;
  readonly name: string;
  readonly input: unknown;
}

/** The one attempt at a call. From here on nobody may make another one. */
export interface ExecutionIntent extends PreparedCall {
  readonly executorId: string;
  readonly authorization: SignedAuthorization;
}

/** What came of the attempt, with the receipt that Gate is owed. */
export interface ExecutionCompletion {
  readonly idempotencyId: string;
  readonly result: unknown;
  readonly effectId: string;
  readonly receipt: Readonly<Record<string, unknown>>;
}

export interface KeptExecution {
  readonly prepared: PreparedCall | null;
  readonly intent: ExecutionIntent | null;
  readonly completion: ExecutionCompletion | null;
}

/** Where a host keeps what it may not forget. Each promise that resolves means that it outlives the end of the process and of the machine. */
export interface ExecutionJournal {
  load(idempotencyId: string): Promise<KeptExecution>;
  /** Keeps what was prepared first under this id. */
  prepare(call: PreparedCall): Promise<void>;
  /** `false` where there is an attempt already, of another process too. */
  commitIntent(intent: ExecutionIntent): Promise<boolean>;
  /** The completion and what is owed, in one step. */
  complete(completion: ExecutionCompletion): Promise<void>;
  /** Completions whose receipt was not delivered, oldest first. */
  owed(limit: number): Promise<readonly ExecutionCompletion[]>;
  delivered(idempotencyId: string): Promise<void>;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A journal in a folder of its own, on a file system that keeps what was synced: for each call a file of what was asked, of the attempt and of its end.
 * Several processes may share it; which of them makes the attempt is decided by who creates its file.
 */
export async function openFileJournal(folder: string): Promise<ExecutionJournal> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const at = (id: string, what: string): string => {
    if (!UUID.test(id)) throw new GateConfigError('idempotencyId must be a lower-case UUID');
    return join(folder, `${id}.${what}.json`);
  };
  const syncFolder = async (): Promise<void> => {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  };
  /** `false` where the file is there. Its bytes are on the disk before it has its name, so nobody reads half of one. */
  const create = async (file: string, value: unknown): Promise<boolean> => {
    const draft = `${file}.${process.pid}.${crypto.randomUUID()}`;
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(value));
      await handle.sync();
    } finally {
      await handle.close();
    }
    try {
      return await linked(draft, file);
    } finally {
      await rm(draft, { force: true });
      await syncFolder();
    }
  };
  const read = async <T>(file: string): Promise<T | null> => {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    return JSON.parse(text) as T;
  };
  return {
    async load(id) {
      return {
        prepared: await read(at(id, 'call')),
        intent: await read(at(id, 'intent')),
        completion: (await read<ExecutionCompletion>(at(id, 'done'))) ?? (await read(at(id, 'delivered'))),
      };
    },
    async prepare(call) {
      await create(at(call.idempotencyId, 'call'), call);
    },
    commitIntent: (intent) => create(at(intent.idempotencyId, 'intent'), intent),
    async complete(completion) {
      await create(at(completion.idempotencyId, 'done'), completion);
    },
    async owed(limit) {
      const names = (await readdir(folder)).filter((name) => name.endsWith('.done.json')).toSorted();
      const found = await Promise.all(
        names.slice(0, limit).map((name) => read<ExecutionCompletion>(join(folder, name))),
      );
      return found.filter((one) => one !== null);
    },
    async delivered(id) {
      await rename(at(id, 'done'), at(id, 'delivered')).catch((error: unknown) => {
        // Another process delivered it too.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      });
      await syncFolder();
    },
  };
}

/** Gives a file a second name; `false` where that is taken. Unlike a rename it never takes the place of what is there. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
