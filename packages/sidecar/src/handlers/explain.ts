import { explainSnapshot } from '@spock/balancer';
import type { ServiceSource } from '@spock/protocol';

import { answer, type Handler } from '../server/answer.ts';

/** For every instance whether it gets work, and why. */
export function explainHandler(source: ServiceSource): Handler<'explain'> {
	return (data, call) => {
		const known = source.peek(data);
		if (known !== undefined) return answer(explainSnapshot(known));
		const { signal, timeoutMs } = call;
		return source
			.get(data, { signal, ...(timeoutMs !== undefined && { timeoutMs }) })
			.then((snapshot) => answer(explainSnapshot(snapshot)));
	};
}
