import type { Handler } from '../connection/answer.ts';

/** The snapshot now; its changes are pushed from now on. */
export const watchServiceHandler: Handler<'watchService'> = (data, call) => call.caller.subscribe(data, call);
