import type { Handler } from '../connection/answer.ts';

/** What a key, or a prefix, says now; its changes are pushed from now on. */
export const watchKeyHandler: Handler<'watchKey'> = (data, call) => call.caller.subscribeKey(data, call);
