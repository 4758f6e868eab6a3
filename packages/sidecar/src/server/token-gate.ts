import { type Notice, type Request, SpockError } from '@spock/protocol';

import type { TokenCheck } from './accepted-tokens.ts';

/**
 * The failure of a connection that must say hello with a token first and has said this instead; undefined if it may go on. No
 * part of what it gave is in the failure.
 */
export function denial(
	message: Request | Notice | { readonly kind: 'fault' },
	tokens: TokenCheck,
): SpockError | undefined {
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
