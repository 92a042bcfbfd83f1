import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, Script } from 'node:vm';

/**
 * Starts a program that `bundle-program` made. What V8 compiled of it by the twentieth message to the first process is kept beside it, with
 * the functions that a call needs: another process reads that instead of seven megabytes of text.
 */
const KEPT_AFTER = 20;
const [, , file = ''] = process.argv;
const kept = `${file}.compiled`;
const cachedData = existsSync(kept) ? readFileSync(kept) : undefined;
const script = new Script(`(function (require) {${readFileSync(file, 'utf8')}\n})`, {
  filename: file,
  ...(cachedData && { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
(script.runInThisContext() as (require: NodeJS.Require) => void)(createRequire(file));

if (cachedData === undefined) {
  let messages = 0;
  process.on('message', () => {
    if ((messages += 1) !== KEPT_AFTER || existsSync(kept)) return;
    const own = `${kept}.${process.pid}`;
    writeFileSync(own, script.createCachedData());
    renameSync(own, kept);
  });
}
