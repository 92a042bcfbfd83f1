import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DownloadReply, findOpa, findTemporal } from './find-program.js';
import { timePasses } from '../../test/support/waiting.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-find-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = (text: string): string => `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`;
const TEMPORAL = program('temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)');
const OPA = program('Version: 1.22.0\nRego Version: v1');

function install(path: string, text: string, mode = 0o755): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const SYSTEM_PATH = '/usr/bin:/bin';
const noDownload = (): Promise<never> => Promise.reject(new Error('no network in this test'));

function options(env: Record<string, string> = {}, download: (url: string) => Promise<DownloadReply> = noDownload) {
  const lines: string[] = [];
  return {
    lines,
    onProgress: (line: string) => void lines.push(line),
    env: { PATH: join(folder, 'path'), GATE_CACHE_DIR: join(folder, 'cache'), ...env },
    download,
  };
}

const answer = (body: Buffer | string, status = 200): DownloadReply => {
  const reply = new Response(new Uint8Array(Buffer.from(body)), { status: status === 206 ? 200 : status });
  return { status, headers: reply.headers, body: reply.body as DownloadReply['body'], text: () => reply.text() };
};

describe('where a program is looked for', () => {
  it('the variable wins over PATH and cache', async () => {
    const mine = install(join(folder, 'mine/temporal'), TEMPORAL);
    install(join(folder, 'path/temporal'), TEMPORAL);
    expect(await findTemporal(options({ GATE_TEMPORAL_BIN: mine }))).toBe(mine);
  });

  it.each<[string, string, (path: string) => void]>([
    ['does not exist', 'does not exist', () => {}],
    ['may not be executed', 'may not be executed', (path) => install(path, TEMPORAL, 0o644)],
    ['is another program', 'is not temporal', (path) => install(path, program('tempo 3'))],
    [
      'is too old',
      'is too old (1.24); server 1.28',
      (path) => install(path, program('temporal version 1.0 (Server 1.24.2)')),
    ],
    ['fails', 'does not run', (path) => install(path, '#!/bin/sh\nexit 3\n')],
  ])('a variable whose program %s is an error, never skipped', async (_what, message, prepare) => {
    const path = join(folder, 'mine/temporal');
    prepare(path);
    install(join(folder, 'path/temporal'), TEMPORAL);
    const found = findTemporal(options({ GATE_TEMPORAL_BIN: path, PATH: `${folder}/path:${SYSTEM_PATH}` }));
    await expect(found).rejects.toThrow(`GATE_TEMPORAL_BIN is ${path}, which ${message}`);
  });

  it('a program that said its version is not run again until its file changes', async () => {
    const counting = (version: string) =>
      `#!/bin/sh\necho asked >> ${join(folder, 'asked')}\necho 'temporal version 1.5.1 (Server ${version}, UI 2.42.1)'\n`;
    const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n').length;
    const mine = install(join(folder, 'mine/temporal'), counting('1.29.1'));
    const env = { GATE_TEMPORAL_BIN: mine };
    expect(await findTemporal(options(env))).toBe(mine);
    expect(await findTemporal(options(env))).toBe(mine);
    expect(asked()).toBe(1);
    // The same path and length, and too old by now.
    install(mine, counting('1.17.1'));
    await expect(findTemporal(options(env))).rejects.toThrow('is too old (1.17)');
    expect(asked()).toBe(2);
    // A note that somebody damaged is no note.
    install(mine, counting('1.29.1'));
    writeFileSync(join(folder, 'cache/temporal.version.json'), '{"stamp":');
    expect(await findTemporal(options(env))).toBe(mine);
    expect(asked()).toBe(3);
  });

  it('PATH comes next; an old program there is passed over for the next one', async () => {
    install(join(folder, 'old/temporal'), program('temporal version 1.0 (Server 1.24.2)'));
    const good = install(join(folder, 'path/temporal'), TEMPORAL);
    const env = { PATH: `${folder}/old:${folder}/path:${SYSTEM_PATH}` };
    expect(await findTemporal(options(env))).toBe(good);
  });

  it('then the cache folder', async () => {
    const cached = install(join(folder, 'cache/opa'), OPA);
    const asked = options({ PATH: SYSTEM_PATH });
    expect(await findOpa(asked)).toBe(cached);
    expect(asked.lines).toEqual([]);
  });
});

describe('go install at the pinned version', () => {
  const fakeGo = (script: string): string => {
    install(join(folder, 'path/go'), `#!/bin/sh\necho "$*" >> ${folder}/go-calls\n${script}\n`);
    return `${folder}/path:${SYSTEM_PATH}`;
  };
  const building = (what: string): string =>
    `cat > $GOBIN/${what} <<'PROGRAM'\n${what === 'opa' ? OPA : TEMPORAL}PROGRAM\nchmod +x $GOBIN/${what}`;

  it('builds into the cache, says so, and is found there the next time', async () => {
    const asked = options({ PATH: fakeGo(building('temporal')) });
    const path = await findTemporal(asked);
    expect(path).toBe(join(folder, 'cache/temporal'));
    expect(readFileSync(join(folder, 'go-calls'), 'utf8')).toBe(
      'install -v -ldflags=-s -w github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
    );
    expect(asked.lines.join('\n')).toContain('the first build takes 3 to 4 minutes');
    expect(await findTemporal(asked)).toBe(path);
    expect(readdirSync(join(folder, 'cache'))).toEqual(['temporal', 'temporal.version.json']);
  });

  it('runs once when two look at the same time', async () => {
    const env = { PATH: fakeGo(`sleep 0.2\n${building('opa')}`) };
    const found = await Promise.all([findOpa(options(env)), findOpa(options(env))]);
    expect(new Set(found).size).toBe(1);
    expect(readFileSync(join(folder, 'go-calls'), 'utf8').trim().split('\n')).toEqual([
      'install -v -ldflags=-s -w github.com/open-policy-agent/opa@v1.22.0',
    ]);
  });

  it('a failed build leaves nothing behind and is reported with what go said', async () => {
    const asked = options({ PATH: fakeGo('touch $GOBIN/temporal; echo "go: no such module" >&2; exit 1') });
    await expect(findTemporal(asked)).rejects.toThrow('go ended with 1: go: no such module');
    expect(readdirSync(join(folder, 'cache'))).toEqual([]);
  });
});

describe('the download, when there is no Go', () => {
  const published = (text: string) => createHash('sha256').update(text).digest('hex');

  it('takes OPA from its release page and checks the published digest', async () => {
    const asked = options({ PATH: SYSTEM_PATH }, (url) =>
      Promise.resolve(answer(url.endsWith('.sha256') ? `${published(OPA)}  opa\n` : OPA)),
    );
    expect(await findOpa(asked)).toBe(join(folder, 'cache/opa'));
    expect(readdirSync(join(folder, 'cache'))).toEqual(['opa', 'opa.version.json']);
    expect(asked.lines.join('\n')).toContain('/open-policy-agent/opa/releases/download/v1.22.0/opa_');
  });

  it('refuses bytes that do not have the published digest, and forgets them', async () => {
    const asked = options({ PATH: SYSTEM_PATH }, (url) =>
      Promise.resolve(answer(url.endsWith('.sha256') ? published('other') : OPA)),
    );
    await expect(findOpa(asked)).rejects.toThrow('not the published');
    expect(readdirSync(join(folder, 'cache'))).toEqual([]);
  });

  it('goes on where an interrupted download ended', async () => {
    const ranges: string[] = [];
    const download = (url: string, headers: Record<string, string> = {}): Promise<DownloadReply> => {
      if (url.endsWith('.sha256')) return Promise.resolve(answer(published(OPA)));
      const range = headers['range'];
      ranges.push(range ?? 'all');
      if (range) return Promise.resolve(answer(OPA.slice(Number(/\d+/.exec(range)?.[0])), 206));
      let pulls = 0;
      const cutOff = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            pulls += 1;
            await timePasses(20, 'a slow line');
            if (pulls === 1) controller.enqueue(Buffer.from(OPA.slice(0, 10)));
            else controller.error(new Error('line cut'));
          },
        },
        { highWaterMark: 0 },
      );
      return Promise.resolve({ ...answer(''), body: cutOff as DownloadReply['body'] });
    };
    await expect(findOpa({ ...options({ PATH: SYSTEM_PATH }), download })).rejects.toThrow('line cut');
    const [part] = readdirSync(join(folder, 'cache'));
    expect(readFileSync(join(folder, 'cache', part as string), 'utf8')).toBe(OPA.slice(0, 10));
    expect(await findOpa({ ...options({ PATH: SYSTEM_PATH }), download })).toBe(join(folder, 'cache/opa'));
    expect(ranges).toEqual(['all', 'bytes=10-']);
  });

  it('takes Temporal from the service of its testing package and unpacks the one program', async () => {
    install(join(folder, 'archive/temporal'), TEMPORAL);
    writeFileSync(join(folder, 'archive/LICENSE'), 'MIT');
    execFileSync('tar', ['-czf', join(folder, 'a.tar.gz'), '-C', join(folder, 'archive'), 'LICENSE', 'temporal']);
    const urls: string[] = [];
    const asked = options({ PATH: SYSTEM_PATH }, (url) => {
      urls.push(url);
      return Promise.resolve(
        url.startsWith('https://temporal.download/')
          ? answer(JSON.stringify({ archiveUrl: 'https://archive.example/a.tar.gz', fileToExtract: 'temporal' }))
          : answer(readFileSync(join(folder, 'a.tar.gz'))),
      );
    });
    expect(await findTemporal(asked)).toBe(join(folder, 'cache/temporal'));
    expect(urls[0]).toMatch(/^https:\/\/temporal\.download\/cli\/v1\.5\.1\?arch=\w+&platform=\w+&format=tar\.gz$/);
    expect(readdirSync(join(folder, 'cache'))).toEqual(['temporal', 'temporal.version.json']);
  });

  it('ends with one line that lists everything that was tried', async () => {
    const failure = await findTemporal(options({ PATH: SYSTEM_PATH })).catch((error: Error) => error.message);
    expect(failure).toBe(
      `temporal was not found and could not be made; tried GATE_TEMPORAL_BIN (not set), PATH (none there), ${folder}/cache (does not exist), ` +
        'go install github.com/temporalio/cli/cmd/temporal@v1.5.1 (go is not installed), ' +
        'download from temporal.download (no network in this test). Install the Temporal CLI (`temporal`, server 1.28 or newer) and set GATE_TEMPORAL_BIN to its path.',
    );
    expect(existsSync(join(folder, 'cache/temporal'))).toBe(false);
  });
});
