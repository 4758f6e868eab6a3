import { answer, type Handler } from '../connection/answer.ts';

/** No more pushes of this key or prefix. */
export const unwatchKeyHandler: Handler<'unwatchKey'> = (data, { caller }) => {
	caller.unsubscribeKey(data);
	return answer(null);
};
