import { liveList } from './live.js';
import { keys, keysSwitch } from './keys.js';
import { enterByPasskey, passkeysOfMine, signedForms } from './passkeys.js';
import { openInPlace } from './opening.js';
import { sending } from './sending.js';
import { staysOnceRead } from './stays.js';
import { tail } from './tail.js';
import { times } from './times.js';
import { moreRows } from './more.js';
import { copyOnClick } from './copy.js';

/** What pages do beyond what their forms and links do. Every page works without it. */
times();
copyOnClick();
keys();
openInPlace();
keysSwitch();
liveList();
passkeysOfMine();
enterByPasskey();
signedForms();
// After those that hold a form back.
sending();
staysOnceRead();
tail();
moreRows();
