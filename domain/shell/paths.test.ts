import { describe, expect, it } from '@jest/globals';
import { growthFault } from '../../test/support/expressions.js';
import { Allowance } from './allowance.js';
import { isUnsure } from './paths.js';
import { fits as fitsSegment, segmentOf } from './patterns.js';

const isVitalFile = (path: string) => new Allowance().paths.isVitalFile(path);
const isSecretFile = (path: string) => new Allowance().paths.isSecretFile(path);
const isDisk = (path: string) => new Allowance().paths.isDisk(path);
const isRootFolder = (path: string) => new Allowance().paths.isRootFolder(path);
const fits = (pattern: string, name: string) => fitsSegment(segmentOf(pattern), name);

describe('a path, however it is spelled', () => {
  it.each([
    '/etc/passwd',
    '/etc',
    '//etc///passwd',
    '/./etc/./passwd/',
    '/tmp/../etc/passwd',
    '/tmp/a/../../etc/passwd',
    '/../../etc/passwd',
    '../../etc/passwd',
    'a/../../etc/passwd',
    '~/../../etc/passwd',
    '$HOME/../etc/passwd',
    '~root/.x',
    '~/.ssh',
    '~/./.bashrc',
    '/ETC/Passwd',
    '/etc./passwd',
    ' /etc/passwd',
    '/etc/passwd\0.txt',
    '/e\u200btc/passwd',
    '\uff0fetc\uff0fpasswd',
    '\\etc\\passwd',
    '%2fetc%2Fpasswd',
    '%252fetc/passwd',
    'file:/etc/passwd',
    'file:///etc/passwd',
    'FILE://localhost/etc/passwd',
    'file://etc/passwd',
    'file:///%65tc/passwd?a#b',
    '/e*c/passwd',
    '/???/passwd',
    '/[e]tc/passwd',
    '/@(etc|x)/passwd',
    '/{tmp,etc}/passwd',
    '/{a,{b,etc}}/passwd',
    '/{a..z}/passwd',
    '/tmp/.?/etc/passwd',
    '/proc/self/root/etc/passwd',
    '/proc/12/task/13/root/etc/passwd',
    '/proc/self/cwd/etc/passwd',
    '/private/etc/passwd',
    '/System/Volumes/Data/private/etc/passwd',
    '/var/run/../etc/passwd',
    '/var/../var//spool/cron/root',
    `/${'{a,b}'.repeat(9)}`,
    '/[[:alpha:]]tc/passwd',
    '/[]e]tc/passwd',
    '/[!]a]tc/passwd',
    '/bin/../local/bin/x',
    '/lib/../local/bin/sudo',
    '/dev/fd/../root/etc/passwd',
    'ab://../../../etc/passwd',
    'https://example.com/../../../etc/passwd',
    "/e''tc/passwd",
    '/e\\tc/passwd',
    '/lib32/x',
    '~/.zshenv',
    '~/.bash_login',
    '~/.config/autostart/x.desktop',
    '~/.config/systemd/user/x.service',
    'a/.git/hooks/pre-commit',
  ])('is vital: %j', (path) => expect(isVitalFile(path)).toBe(true));

  it.each([
    'passwd',
    'notes.txt',
    '/tmp/x',
    '/tmp/etc/passwd',
    '/etc/../tmp/x',
    '/etcetera/x',
    'etc/passwd',
    'src/{a,b}.ts',
    'src/*/x',
    '/srv/*/x',
    '/home/ada/.config/x',
    'https://example.com/../../etc/passwd',
    '/var/spool/mail/x',
    '...',
    '/*.txt',
    'app/[...slug]/page.tsx',
    '.git/HEAD',
    'https://example.com/a/../etc/passwd',
  ])('is not: %j', (path) => expect(isVitalFile(path)).toBe(false));

  it.each([
    '/etc//shadow',
    '/tmp/../etc/shadow',
    '/etc/sh*dow',
    '/etc/{x,shadow}',
    '/mnt/image/etc/shadow',
    '/proc/self/environ',
    '/proc//1/./environ',
    '/proc/self/task/1/environ',
    '~/.ssh//id_rsa',
    '~/.s*/id_*',
    '~/.AWS/credentials',
    'a/.netrc',
    'file://localhost/etc/shadow',
    'jar:file:///etc/shadow!/x',
    'php://filter/resource=/etc/shadow',
    '/[[:alpha:]]tc/shadow',
    '/dev/fd/../environ',
    '/dev/sda',
    '/dev/mem',
    '/etc/ssh/ssh_host_rsa_key',
    '/run/secrets/db',
    '/var/run/secrets/kubernetes.io/serviceaccount/token',
    '.env',
    'a/.env.production',
    'server.pem',
    '~/.gnupg/x',
    '.ssh/known_hosts',
    'credentials',
  ])('holds secrets: %j', (path) => expect(isSecretFile(path)).toBe(true));

  it.each([
    '/etc/hostname',
    'shadow',
    '/etc/../shadow',
    '/proc/self/status',
    'src/*',
    'notes/.ssh.md',
    '.env.example',
    'src/ssh/client.ts',
    '/run/app/x',
    'app/[[...slug]]/page.tsx',
  ])('holds none: %j', (path) => expect(isSecretFile(path)).toBe(false));

  it('is a disk, the root, or known only to whoever opens it', () => {
    for (const path of [
      '/dev/sda',
      '//dev/sda',
      '/tmp/../dev/nvme0n1',
      '\\\\.\\PhysicalDrive0',
      '/d?v/sda',
      '/dev/s[d]a',
      '/proc/self/root/dev/sda',
    ])
      expect([path, isDisk(path)]).toEqual([path, true]);
    expect(['/dev/null', 'dev/sda', '/dev/shm', '/dev/tty?'].filter(isDisk)).toEqual([]);
    for (const path of ['/', '//', '/tmp/..', '/./*']) expect([path, isRootFolder(path)]).toEqual([path, true]);
    expect(['/tmp', '.', '*', 'a/..'].filter(isRootFolder)).toEqual([]);
    for (const path of ['$X/a', '${X}', '%TEMP%\\a', '$(x)', '`x`'])
      expect([path, isUnsure(path)]).toEqual([path, true]);
    expect(['cost$', '100%', '%2e%2e/x', 'a b'].filter(isUnsure)).toEqual([]);
  });

  it('is the folder that it starts from, which is not the root', () => {
    const { paths } = new Allowance();
    for (const path of ['.', './', 'a/..', './.'])
      expect([path, new Set(paths.spelledOut(path)), paths.isVitalFolder(path)]).toEqual([path, new Set(['.']), false]);
    for (const path of ['/', '/.', 'a/../..'])
      expect([path, new Set(paths.spelledOut(path))]).toEqual([path, new Set(['/'])]);
  });

  it('is a pattern that fits a name, as a shell reads it', () => {
    for (const pattern of ['shadow', 's*', '*', 's?adow', 's[a-i]adow', '*w', '*h*d*'])
      expect([pattern, fits(pattern, 'shadow')]).toEqual([pattern, true]);
    expect(['s?', 'shadow?', 'x*', '*x'].filter((pattern) => fits(pattern, 'shadow'))).toEqual([]);
    // A pattern without a point fits no hidden name.
    expect(fits('*', '.ssh')).toBe(false);
    expect(fits('.*', '.ssh')).toBe(true);
  });

  it.each(['../', '/', '%2525', '{a,', '{a,b}', '*', '[', '\\', '.?/', '~/', 'file:', '@(', '. ', '\0'])(
    'takes time in proportion to its length: %j',
    (unit) => {
      const reading = (length: number) => {
        const path = `/${unit.repeat(Math.ceil(length / unit.length))}`;
        return () => void [isVitalFile(path), isSecretFile(path)];
      };
      expect(growthFault(reading, 8_000)).toBeNull();
    },
  );
});
