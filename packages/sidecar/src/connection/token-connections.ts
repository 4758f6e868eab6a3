import type { GoawayData } from '@spock/protocol';

import type { TokenCheck, TokenHolder } from '../listen/tokens.ts';
import type { AcceptedConnection } from './accepted-connection.ts';

/** How one connection was let in, and what was done since its token was removed. */
interface LetIn {
	readonly tokens: TokenCheck;
	readonly holder: TokenHolder;
	/** `asked`: its client was sent goaway. `ended`: nothing that it sends is answered or taken any more. */
	step: 'accepted' | 'asked' | 'ended';
}

/**
 * The connections that a token has let in. One whose token is removed ends: a client that has a valid token moves to a new connection,
 * as after any goaway, and the others are closed.
 */
export class TokenConnections {
	readonly #letIn = new Map<AcceptedConnection, LetIn>();

	add(connection: AcceptedConnection, tokens: TokenCheck, holder: TokenHolder): void {
		this.#letIn.set(connection, { tokens, holder, step: 'accepted' });
	}

	delete(connection: AcceptedConnection): void {
		this.#letIn.delete(connection);
	}

	/**
	 * Called regularly. A removed token is one step at each call: its client is asked to leave, with the goaway that `makeGoaway` returns
	 * for the number of those clients; then its requests in flight are answered, and no others; then it is cut off.
	 */
	check(makeGoaway: (count: number) => GoawayData): void {
		const removed: AcceptedConnection[] = [];
		for (const [connection, letIn] of this.#letIn) {
			const { tokens, holder, step } = letIn;
			if (step === 'ended') connection.destroy('token');
			else if (tokens.accepts(holder)) letIn.step = 'accepted';
			else if (step === 'accepted') {
				letIn.step = 'asked';
				removed.push(connection);
			} else {
				letIn.step = 'ended';
				connection.end('token');
			}
		}
		if (removed.length === 0) return;
		const goaway = makeGoaway(removed.length);
		for (const connection of removed) connection.tellAway(goaway);
	}
}
