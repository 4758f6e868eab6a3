export function injectionPolicy(overlay: string): string;
