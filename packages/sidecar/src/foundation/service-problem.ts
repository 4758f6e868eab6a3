import type { QuestionState } from '@spock/protocol';

/**
 * What is wrong with one service, the worst first. `no-answer`: apps get an error. `none-healthy`: no instance is healthy, or none is
 * registered. `held-back`: the registry reports that no instance is left, which is held back. `failing`: its watch fails while
 * the registry answers. `some-unhealthy`. `warning`: an instance is in the state of warning. Last known answers alone, in an outage of the
 * registry, are no problem of the service.
 */
export const SERVICE_PROBLEMS = [
	'no-answer',
	'none-healthy',
	'held-back',
	'failing',
	'some-unhealthy',
	'warning',
] as const;

/** One of {@link SERVICE_PROBLEMS}. */
export type ServiceProblem = (typeof SERVICE_PROBLEMS)[number];

/** What decides about a service. */
export interface ServiceFacts {
	readonly state: QuestionState;
	readonly healthy: number;
	readonly instances: number;
	/** Whether an instance is in the state of warning. */
	readonly hasWarning: boolean;
	/** Whether a registry is down, which makes answers the last known ones. */
	readonly isOutage: boolean;
	/** Why its watch fails. */
	readonly error: string | null;
}

/** The worst problem of a service; null if it is fine. */
export function serviceProblem({
	state,
	healthy,
	instances,
	hasWarning,
	isOutage,
	error,
}: ServiceFacts): ServiceProblem | null {
	if (state === 'cold') return 'no-answer';
	if (healthy === 0) return 'none-healthy';
	if (state === 'held') return 'held-back';
	if ((error !== null || state === 'stale') && !isOutage) return 'failing';
	if (healthy < instances) return 'some-unhealthy';
	return hasWarning ? 'warning' : null;
}

/** Where a service stands in an order by health: the worst first, then last known answers, then live ones. */
export function healthRank(problem: ServiceProblem | null, state: QuestionState): number {
	if (problem !== null) return SERVICE_PROBLEMS.indexOf(problem);
	return SERVICE_PROBLEMS.length + (state === 'fresh' ? 1 : 0);
}
