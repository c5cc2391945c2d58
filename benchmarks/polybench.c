/* PolyBench/C 4.2's programs in C with OpenMP, for polybench.py: extents first, then the arguments. */
#include <math.h>

#define FOR(i, from, to) for (int i = (from); i < (to); i++)
#define PARALLEL _Pragma("omp parallel for schedule(static)")
#define GUIDED _Pragma("omp parallel for schedule(guided)")
typedef double f;

void gemm(int I, int K, int J, f a[I][K], f b[K][J], f c[I][J], f alpha, f beta) {
    PARALLEL FOR(i, 0, I) {
        FOR(j, 0, J) c[i][j] *= beta;
        FOR(k, 0, K) FOR(j, 0, J) c[i][j] += alpha * a[i][k] * b[k][j];
    }
}

static void product(int I, int K, int J, f a[I][K], f b[K][J], f c[I][J], f alpha, f beta) {
    PARALLEL FOR(i, 0, I) {
        FOR(j, 0, J) c[i][j] *= beta;
        FOR(k, 0, K) FOR(j, 0, J) c[i][j] += alpha * a[i][k] * b[k][j];
    }
}

void two_products(int I, int K, int J, int L, f a[I][K], f b[K][J], f tmp[I][J], f c[J][L],
                  f d[I][L], f alpha, f beta) {
    product(I, K, J, a, b, tmp, alpha, 0);
    product(I, J, L, tmp, c, d, 1, beta);
}

void three_products(int I, int K, int J, int M, int L, f a[I][K], f b[K][J], f c[J][M], f d[M][L],
                    f e[I][J], f g[J][L], f h[I][L]) {
    product(I, K, J, a, b, e, 1, 0);
    product(J, M, L, c, d, g, 1, 0);
    product(I, J, L, e, g, h, 1, 0);
}

void symm(int M, int N, f a[M][M], f b[M][N], f c[M][N], f alpha, f beta) {
    PARALLEL FOR(i, 0, M) {
        FOR(j, 0, N) c[i][j] = beta * c[i][j];
        FOR(k, 0, i + 1) FOR(j, 0, N) c[i][j] += alpha * a[i][k] * b[k][j];
        FOR(k, i + 1, M) FOR(j, 0, N) c[i][j] += alpha * a[k][i] * b[k][j];
    }
}

void syrk(int N, int M, f a[N][M], f c[N][N], f alpha, f beta) {
    GUIDED FOR(i, 0, N) FOR(j, 0, i + 1) {
        f s = 0;
        FOR(k, 0, M) s += a[i][k] * a[j][k];
        c[i][j] = beta * c[i][j] + alpha * s;
    }
}

void syr2k(int N, int M, f a[N][M], f b[N][M], f c[N][N], f alpha, f beta) {
    GUIDED FOR(i, 0, N) FOR(j, 0, i + 1) {
        f s = 0;
        FOR(k, 0, M) s += a[j][k] * b[i][k] + b[j][k] * a[i][k];
        c[i][j] = beta * c[i][j] + alpha * s;
    }
}

void trmm(int M, int N, f a[M][M], f b[M][N], f alpha) {
    FOR(i, 0, M) {
        PARALLEL for (int part = 0; part < N; part += 64) {
            int end = part + 64 < N ? part + 64 : N;
            FOR(k, i + 1, M) FOR(j, part, end) b[i][j] += a[k][i] * b[k][j];
            FOR(j, part, end) b[i][j] *= alpha;
        }
    }
}

void doitgen(int R, int Q, int P, f a[R][Q][P], f c4[P][P], f total[R][Q][P]) {
    PARALLEL FOR(r, 0, R) FOR(q, 0, Q) {
        FOR(p, 0, P) total[r][q][p] = 0;
        FOR(s, 0, P) FOR(p, 0, P) total[r][q][p] += a[r][q][s] * c4[s][p];
        FOR(p, 0, P) a[r][q][p] = total[r][q][p];
    }
}

static void means(int N, int M, f data[N][M], f mean[M], f count) {
    PARALLEL for (int part = 0; part < M; part += 64) {
        int end = part + 64 < M ? part + 64 : M;
        FOR(j, part, end) mean[j] = 0;
        FOR(i, 0, N) FOR(j, part, end) mean[j] += data[i][j];
        FOR(j, part, end) mean[j] /= count;
    }
}

static void pairs(int N, int M, f data[N][M], f out[M][M], int first, f by) {
    GUIDED FOR(i, 0, M) {
        FOR(j, i + first, M) out[i][j] = 0;
        FOR(k, 0, N) FOR(j, i + first, M) out[i][j] += data[k][i] * data[k][j];
        FOR(j, i + first, M) out[j][i] = out[i][j] /= by;
    }
}

void covariance(int N, int M, f data[N][M], f mean[M], f cov[M][M], f count) {
    means(N, M, data, mean, count);
    PARALLEL FOR(i, 0, N) FOR(j, 0, M) data[i][j] -= mean[j];
    pairs(N, M, data, cov, 0, count - 1);
}

void correlation(int N, int M, f data[N][M], f mean[M], f stddev[M], f corr[M][M], f count) {
    means(N, M, data, mean, count);
    PARALLEL for (int part = 0; part < M; part += 64) {
        int end = part + 64 < M ? part + 64 : M;
        FOR(j, part, end) stddev[j] = 0;
        FOR(i, 0, N) FOR(j, part, end)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        FOR(j, part, end) stddev[j] = sqrt(stddev[j] / count);
        FOR(j, part, end) stddev[j] = stddev[j] <= 0.1 ? 1 : stddev[j];
    }
    PARALLEL FOR(i, 0, N) FOR(j, 0, M)
        data[i][j] = (data[i][j] - mean[j]) / (sqrt(count) * stddev[j]);
    pairs(N, M, data, corr, 1, 1);
    FOR(i, 0, M) corr[i][i] = 1;
}

/* y += a^T x */
static void by_columns(int M, int N, f a[M][N], f *x, f *y, f by) {
    PARALLEL for (int part = 0; part < N; part += 256) {
        int end = part + 256 < N ? part + 256 : N;
        FOR(i, 0, M) FOR(j, part, end) y[j] += by * a[i][j] * x[i];
    }
}

void atax(int M, int N, f a[M][N], f x[N], f y[N], f tmp[M]) {
    FOR(j, 0, N) y[j] = 0;
    PARALLEL FOR(i, 0, M) {
        f s = 0;
        FOR(j, 0, N) s += a[i][j] * x[j];
        tmp[i] = s;
    }
    by_columns(M, N, a, tmp, y, 1);
}

void bicg(int N, int M, f a[N][M], f s[M], f q[N], f p[M], f r[N]) {
    FOR(j, 0, M) s[j] = 0;
    by_columns(N, M, a, r, s, 1);
    PARALLEL FOR(i, 0, N) {
        f t = 0;
        FOR(j, 0, M) t += a[i][j] * p[j];
        q[i] = t;
    }
}

void mvt(int N, f x1[N], f x2[N], f y1[N], f y2[N], f a[N][N]) {
    PARALLEL FOR(i, 0, N) {
        f s = 0;
        FOR(j, 0, N) s += a[i][j] * y1[j];
        x1[i] += s;
    }
    by_columns(N, N, a, y2, x2, 1);
}

void gemver(int N, f a[N][N], f u1[N], f v1[N], f u2[N], f v2[N], f w[N], f x[N], f y[N], f z[N],
            f alpha, f beta) {
    PARALLEL FOR(i, 0, N) FOR(j, 0, N) a[i][j] += u1[i] * v1[j] + u2[i] * v2[j];
    by_columns(N, N, a, y, x, beta);
    FOR(i, 0, N) x[i] += z[i];
    PARALLEL FOR(i, 0, N) {
        f s = 0;
        FOR(j, 0, N) s += a[i][j] * x[j];
        w[i] += alpha * s;
    }
}

void gesummv(int N, f a[N][N], f b[N][N], f x[N], f y[N], f alpha, f beta) {
    PARALLEL FOR(i, 0, N) {
        f t = 0, s = 0;
        FOR(j, 0, N) t += a[i][j] * x[j], s += b[i][j] * x[j];
        y[i] = alpha * t + beta * s;
    }
}

void floyd_warshall(int N, int path[N][N]) {
    FOR(k, 0, N) {
        PARALLEL FOR(i, 0, N) FOR(j, 0, N) {
            int by = path[i][k] + path[k][j];
            path[i][j] = path[i][j] < by ? path[i][j] : by;
        }
    }
}

#define MAX(a, b) ((a) > (b) ? (a) : (b))
void nussinov(int N, int seq[N], int table[N][N]) {
    FOR(d, 1, N) {
        PARALLEL FOR(i, 0, N - d) {
            int j = i + d, best = MAX(table[i][j], MAX(table[i][j - 1], table[i + 1][j]));
            best = MAX(best, table[i + 1][j - 1] + (d > 1 && seq[i] + seq[j] == 3));
            FOR(k, i + 1, j) best = MAX(best, table[i][k] + table[k + 1][j]);
            table[i][j] = best;
        }
    }
}

void cholesky(int N, f a[N][N]) {
    FOR(k, 0, N) {
        a[k][k] = sqrt(a[k][k]);
        FOR(i, k + 1, N) a[i][k] /= a[k][k];
        GUIDED FOR(i, k + 1, N) FOR(j, k + 1, i + 1) a[i][j] -= a[i][k] * a[j][k];
    }
}

void lu(int N, f a[N][N]) {
    FOR(k, 0, N) {
        PARALLEL FOR(i, k + 1, N) {
            a[i][k] /= a[k][k];
            FOR(j, k + 1, N) a[i][j] -= a[i][k] * a[k][j];
        }
    }
}

void ludcmp(int N, f a[N][N], f b[N], f x[N], f y[N]) {
    lu(N, a);
    FOR(i, 0, N) {
        f w = b[i];
        FOR(j, 0, i) w -= a[i][j] * y[j];
        y[i] = w;
    }
    for (int i = N - 1; i >= 0; i--) {
        f w = y[i];
        FOR(j, i + 1, N) w -= a[i][j] * x[j];
        x[i] = w / a[i][i];
    }
}

void trisolv(int N, f l[N][N], f x[N], f b[N]) {
    FOR(i, 0, N) {
        f s = b[i];
        FOR(j, 0, i) s -= l[i][j] * x[j];
        x[i] = s / l[i][i];
    }
}

void durbin(int N, f r[N], f y[N], f z[N]) {
    f beta = 1, alpha = -r[0];
    y[0] = alpha;
    FOR(k, 1, N) {
        beta *= 1 - alpha * alpha;
        f s = 0;
        FOR(i, 0, k) s += r[k - i - 1] * y[i];
        alpha = -(r[k] + s) / beta;
        FOR(i, 0, k) z[i] = y[i] + alpha * y[k - i - 1];
        FOR(i, 0, k) y[i] = z[i];
        y[k] = alpha;
    }
}

void gramschmidt(int M, int N, f a[M][N], f r[N][N], f q[M][N]) {
    FOR(k, 0, N) {
        f norm = 0;
        FOR(i, 0, M) norm += a[i][k] * a[i][k];
        r[k][k] = sqrt(norm);
        FOR(i, 0, M) q[i][k] = a[i][k] / r[k][k];
        PARALLEL for (int part = k + 1; part < N; part += 64) {
            int end = part + 64 < N ? part + 64 : N;
            FOR(j, part, end) r[k][j] = 0;
            FOR(i, 0, M) FOR(j, part, end) r[k][j] += q[i][k] * a[i][j];
            FOR(i, 0, M) FOR(j, part, end) a[i][j] -= q[i][k] * r[k][j];
        }
    }
}

void jacobi_1d(int N, f a[N], f b[N], int times) {
    FOR(t, 0, times) {
        FOR(i, 1, N - 1) b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        FOR(i, 1, N - 1) a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
}

#define CROSS(a) (0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]))
void jacobi_2d(int N, f a[N][N], f b[N][N], int times) {
    FOR(t, 0, times) {
        PARALLEL FOR(i, 1, N - 1) FOR(j, 1, N - 1) b[i][j] = CROSS(a);
        PARALLEL FOR(i, 1, N - 1) FOR(j, 1, N - 1) a[i][j] = CROSS(b);
    }
}

void seidel_2d(int N, f a[N][N], int times) {
    FOR(t, 0, times) FOR(i, 1, N - 1) FOR(j, 1, N - 1)
        a[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j] +
                   a[i][j + 1] + a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) / 9.0;
}

void fdtd_2d(int X, int Y, int T, f ex[X][Y], f ey[X][Y], f hz[X][Y], f fict[T]) {
    FOR(t, 0, T) {
        FOR(j, 0, Y) ey[0][j] = fict[t];
        PARALLEL FOR(i, 1, X) FOR(j, 0, Y) ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
        PARALLEL FOR(i, 0, X) FOR(j, 1, Y) ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
        PARALLEL FOR(i, 0, X - 1) FOR(j, 0, Y - 1)
            hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

#define HEAT(a) (0.125 * (a[i + 1][j][k] - 2 * a[i][j][k] + a[i - 1][j][k]) + \
                 0.125 * (a[i][j + 1][k] - 2 * a[i][j][k] + a[i][j - 1][k]) + \
                 0.125 * (a[i][j][k + 1] - 2 * a[i][j][k] + a[i][j][k - 1]) + a[i][j][k])
void heat_3d(int N, f a[N][N][N], f b[N][N][N], int times) {
    FOR(t, 0, times) {
        PARALLEL FOR(i, 1, N - 1) FOR(j, 1, N - 1) FOR(k, 1, N - 1) b[i][j][k] = HEAT(a);
        PARALLEL FOR(i, 1, N - 1) FOR(j, 1, N - 1) FOR(k, 1, N - 1) a[i][j][k] = HEAT(b);
    }
}

void adi(int N, f u[N][N], f v[N][N], f p[N][N], f q[N][N], int times, f a, f d) {
    FOR(t, 0, times) {
        PARALLEL FOR(i, 1, N - 1) {
            v[0][i] = 1, p[i][0] = 0, q[i][0] = 1;
            FOR(j, 1, N - 1) {
                f w = a * p[i][j - 1] + 1 - 2 * a;
                p[i][j] = -a / w;
                q[i][j] = ((1 + 2 * d) * u[j][i] - d * u[j][i - 1] - d * u[j][i + 1] -
                           a * q[i][j - 1]) / w;
            }
            v[N - 1][i] = 1;
            for (int j = N - 2; j > 0; j--) v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        PARALLEL FOR(i, 1, N - 1) {
            u[i][0] = 1, p[i][0] = 0, q[i][0] = 1;
            FOR(j, 1, N - 1) {
                f w = d * p[i][j - 1] + 1 - 2 * d;
                p[i][j] = -d / w;
                q[i][j] = ((1 + 2 * a) * v[i][j] - a * v[i - 1][j] - a * v[i + 1][j] -
                           d * q[i][j - 1]) / w;
            }
            u[i][N - 1] = 1;
            for (int j = N - 2; j > 0; j--) u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

void deriche(int W, int H, f image[W][H], f out[W][H], f y1[W][H], f y2[W][H], f alpha) {
    f e = exp(-alpha), k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - exp(2 * alpha));
    f a2 = k * e * (alpha - 1), a3 = k * e * (alpha + 1), a4 = -k * e * e;
    f b1 = pow(2, -alpha), b2 = -e * e;
    PARALLEL FOR(i, 0, W) {
        f x = 0, m = 0, n = 0;
        FOR(j, 0, H) {
            y1[i][j] = k * image[i][j] + a2 * x + b1 * m + b2 * n;
            x = image[i][j], n = m, m = y1[i][j];
        }
        f g = 0, h = 0;
        m = n = 0;
        for (int j = H - 1; j >= 0; j--) {
            y2[i][j] = a3 * g + a4 * h + b1 * m + b2 * n;
            h = g, g = image[i][j], n = m, m = y2[i][j];
        }
        FOR(j, 0, H) out[i][j] = y1[i][j] + y2[i][j];
    }
    PARALLEL FOR(j, 0, H) {
        f x = 0, m = 0, n = 0;
        FOR(i, 0, W) {
            y1[i][j] = k * out[i][j] + a2 * x + b1 * m + b2 * n;
            x = out[i][j], n = m, m = y1[i][j];
        }
        f g = 0, h = 0;
        m = n = 0;
        for (int i = W - 1; i >= 0; i--) {
            y2[i][j] = a3 * g + a4 * h + b1 * m + b2 * n;
            h = g, g = out[i][j], n = m, m = y2[i][j];
        }
    }
    PARALLEL FOR(i, 0, W) FOR(j, 0, H) out[i][j] = y1[i][j] + y2[i][j];
}
