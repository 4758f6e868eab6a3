import type { ExplainReply, InstanceStatus, ServiceSnapshot, ServiceSource } from '@spock/protocol';
import { isServing } from '@spock/protocol';

import { type Answer, answer, type Handler } from '../server/answer.ts';

const REASONS: Readonly<Record<InstanceStatus, string>> = {
	passing: 'all its checks pass',
	warning: 'a check warns: it still gets work',
	critical: 'a check is critical',
	maintenance: 'it is in maintenance',
};

/** For every instance whether it gets work, and why. */
export function explainHandler(source: ServiceSource): Handler<'explain'> {
	return (data, { signal, timeoutMs }) => {
		const known = source.peek(data);
		if (known !== undefined) return explain(known);
		return source.get(data, { signal, ...(timeoutMs !== undefined && { timeoutMs }) }).then(explain);
	};
}

function explain({ service, source, ageMs, revision, instances }: ServiceSnapshot): Answer<ExplainReply> {
	return answer({
		service,
		source,
		ageMs,
		revision,
		instances: instances.map((instance) => ({
			instance: instance.instance,
			host: instance.host,
			port: instance.port,
			weight: instance.weight,
			status: instance.status,
			included: isServing(instance),
			reason: REASONS[instance.status],
		})),
	});
}
