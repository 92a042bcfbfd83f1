import { liveList } from './live.js';
import { keys, keysSwitch } from './keys.js';
import { enterByPasskey, passkeysOfMine, signedForms } from './passkeys.js';
import { holdAhead } from './ahead.js';
import { openInPlace } from './opening.js';
import { approvesWhatWasRead } from './question.js';
import { heedsPresses } from './pressed.js';
import { sendWhatIsSure } from './sure.js';
import { sending } from './sending.js';
import { staysOnceRead } from './stays.js';
import { tail } from './tail.js';
import { times } from './times.js';
import { moreRows } from './more.js';
import { farRowsAside } from './far.js';
import { saysWhoSignedIn } from './anew.js';
import { copyOnClick } from './copy.js';
import { checkedAsTyped } from './editor.js';
import { tickedStays } from './ticked.js';
import { typedStays } from './typed.js';

/** What pages do beyond what their forms and links do. Every page works without it. */
saysWhoSignedIn();
times();
copyOnClick();
// Before the keys, which write on after what was typed before.
typedStays();
keys();
openInPlace();
// Before anything is sent, or asked.
approvesWhatWasRead();
sendWhatIsSure();
holdAhead();
keysSwitch();
heedsPresses();
liveList();
passkeysOfMine();
enterByPasskey();
signedForms();
// After those that hold a form back.
sending();
staysOnceRead();
tail();
moreRows();
farRowsAside();
tickedStays();
checkedAsTyped();
