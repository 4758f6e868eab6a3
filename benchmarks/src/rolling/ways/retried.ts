import { retry } from '@spock/client/integrations';

import { RETRIES_MAX } from './way.ts';

/** Calls by `retry` of the integrations, and counts the tries after the first. */
export class Retried {
	#retries = 0;

	get retries(): number {
		return this.#retries;
	}

	call<T>(attempt: () => Promise<T>): Promise<T> {
		return retry(
			(number) => {
				if (number > 0) this.#retries++;
				return attempt();
			},
			{ retriesMax: RETRIES_MAX },
		);
	}
}
