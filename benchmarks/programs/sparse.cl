// A sparse matrix times a vector, a row a work item.
kernel void sparse(global const int *first, global const int *columns, global const float *values,
                   global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        float sum = 0;
        for (int e = first[i]; e < first[i + 1]; e++)
            sum += values[e] * x[columns[e]];
        y[i] = sum;
    }
}
