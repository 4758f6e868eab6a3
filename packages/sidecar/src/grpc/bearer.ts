import {
	type Metadata,
	status as Status,
	type UntypedHandleCall,
	type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { SpockError } from '@spock/protocol';

import type { TokenCheck } from '../listen/tokens.ts';
import { type FailedStatus, statusOf } from './grpc-status.ts';

interface Call {
	readonly metadata: Metadata;
	emit(event: 'error', status: FailedStatus): unknown;
	getPeer(): string;
}
type Callback = (status: FailedStatus) => void;

/** The methods of a service for those alone who give one of these tokens, in `authorization: Bearer TOKEN`. `refused` counts the others; `accepted`
 * is told from which address a good one came, and says whether there is room. */
export function guarded(
	implementation: UntypedServiceImplementation,
	tokens: TokenCheck,
	refused: (method: string) => void,
	accepted: (peer: string) => boolean,
): UntypedServiceImplementation {
	const methods = Object.entries(implementation).map(([method, handle]) => {
		const guard = (call: Call, callback?: Callback): void => {
			const refusal = refusalOf(call.metadata, tokens) ?? (accepted(call.getPeer()) ? undefined : FULL);
			if (refusal === undefined) {
				(handle as (...given: unknown[]) => void)(call, callback);
				return;
			}
			refused(method);
			if (callback === undefined) call.emit('error', refusal);
			else callback(refusal);
		};
		return [method, guard as unknown as UntypedHandleCall] as const;
	});
	return Object.fromEntries(methods);
}

const FULL: FailedStatus = statusOf(
	new SpockError('OVERLOADED', 'too many clients are connected: retry later, or raise connectionsMax'),
);

/** Why a caller is not let in. No part of what it gave is in it. */
function refusalOf(metadata: Metadata, tokens: TokenCheck): FailedStatus | undefined {
	const [given] = metadata.get('authorization');
	const [, token] = /^bearer +(\S+)$/i.exec(typeof given === 'string' ? given : '') ?? [];
	if (token !== undefined && tokens.accepts(token)) return undefined;
	const message =
		given === undefined
			? 'this listener requires a token in the metadata: authorization: Bearer TOKEN'
			: 'this sidecar does not accept the token in the metadata: authorization: Bearer TOKEN';
	return { ...statusOf(new SpockError('ACL_DENIED', message)), code: Status.UNAUTHENTICATED };
}
