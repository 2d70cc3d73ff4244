import { receipt } from './receipt.js';

console.log(receipt([['apples', 1.5], ['rope', 3], ['bag', 2]], 'en'));
