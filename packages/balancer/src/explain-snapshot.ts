import { type ExplainReply, type InstanceStatus, isServing, type ServiceSnapshot } from '@spock/protocol';

const REASONS: Readonly<Record<InstanceStatus, string>> = {
	passing: 'all its checks pass',
	warning: 'a check warns: it still gets work',
	critical: 'a check is critical',
	maintenance: 'it is in maintenance',
};

/** For every instance of the snapshot whether it gets work, and why. */
export function explainSnapshot({ service, source, ageMs, revision, instances }: ServiceSnapshot): ExplainReply {
	return {
		service,
		source,
		ageMs,
		revision,
		instances: instances.map(({ instance, host, port, weight, status }) => {
			return { instance, host, port, weight, status, included: isServing({ status }), reason: REASONS[status] };
		}),
	};
}
