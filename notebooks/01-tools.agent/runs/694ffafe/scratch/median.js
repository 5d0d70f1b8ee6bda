import { workspace } from '@tauritavern/runtime';
const numbers = JSON.parse(workspace.readText('/scratch/numbers.json')).sort((a, b) => a - b);
const half = numbers.length / 2;
console.log((numbers[half - 1] + numbers[half]) / 2);
