import { SpockError } from '@spock/protocol';

/** CLOSED, for those who do not know which of the two it was. */
export function closedError(): SpockError {
	return new SpockError('CLOSED', 'the client was closed or is draining');
}
