import { type Notice, type Request, SpockError } from '@spock/protocol';

import type { TokenCheck } from '../listen/accepted-tokens.ts';

/**
 * The longest hello, in bytes, where a token is wanted. Who has given none yet must not make the sidecar hold more: ten thousand
 * strangers with half a frame each are 40 MB. The longest name and token need 4 KB where every character is escaped.
 */
export const TOKEN_HELLO_BYTES_MAX = 4096;

/**
 * The failure of a connection that must say hello with a token first and has said this instead; undefined if it may go on. No
 * part of what it gave is in the failure.
 */
export function denial(
	message: Request | Notice | { readonly kind: 'fault'; readonly code?: string },
	tokens: TokenCheck,
): SpockError | undefined {
	if (message.kind === 'fault' && message.code === 'FRAME_TOO_LARGE') {
		return new SpockError(
			'ACL_DENIED',
			`this listener wants a token in hello, in ${TOKEN_HELLO_BYTES_MAX} bytes at most`,
		);
	}
	if (message.kind !== 'request' || message.func !== 'hello') {
		return new SpockError('ACL_DENIED', 'this listener answers nothing before a hello with a token');
	}
	const { token } = (message.data ?? {}) as { readonly token?: unknown };
	if (token === undefined || token === null) {
		return new SpockError('ACL_DENIED', 'this listener wants a token in hello, and there is none');
	}
	if (typeof token === 'string' && tokens.accepts(token)) return undefined;
	return new SpockError('ACL_DENIED', 'the token in hello is not one that this sidecar accepts');
}
