import { SpockError } from '@spock/protocol';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { reportAddress } from './address-report.ts';

/** A half-sentence for people: why there is no connection. */
export function whyNotReady(address: SocketAddress, lastError: unknown): string {
	const { sentence } = reportAddress(address, lastError);
	return `there is no connection to the sidecar at ${formatAddress(address)}: ${sentence}`;
}

/** TIMEOUT of who waited for a sidecar; `details.found` says in a word what is at the address. */
export function notReadyError(address: SocketAddress, lastError: unknown, timeoutMs: number): SpockError {
	const { address: name, found, sentence } = reportAddress(address, lastError);
	const message = `no sidecar answered at ${name} within ${timeoutMs} ms: ${sentence}`;
	return new SpockError('TIMEOUT', message, { details: { address: name, found, timeoutMs }, cause: lastError });
}
